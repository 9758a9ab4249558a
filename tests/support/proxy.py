"""A proxy between a client and a server that can drop a response on request."""

import socket
from contextlib import suppress
from threading import Thread


class Proxy:
    """Forwards connections to a port; can cut off a client without the server noticing."""

    def __init__(self, port: int) -> None:
        self._target = ("127.0.0.1", port)
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port: int = self._listener.getsockname()[1]
        self._clients: list[socket.socket] = []
        self._servers: list[socket.socket] = []
        self._cut_at_response = False
        self._severed: list[socket.socket] = []
        self._threads = [Thread(target=self._accept, daemon=True)]
        self._threads[0].start()

    def cut_at_next_response(self) -> None:
        """Forward the next request, drop its response, and keep the server's connection open."""
        self._cut_at_response = True

    def _accept(self) -> None:
        with suppress(OSError):
            while True:
                client, _ = self._listener.accept()
                server = socket.create_connection(self._target)
                self._clients.append(client)
                self._servers.append(server)
                for work in (self._requests, self._responses):
                    thread = Thread(target=work, args=(client, server), daemon=True)
                    self._threads.append(thread)
                    thread.start()

    def _requests(self, client: socket.socket, server: socket.socket) -> None:
        with suppress(OSError):
            while data := client.recv(65536):
                server.sendall(data)
            if client not in self._severed:
                server.shutdown(socket.SHUT_WR)

    def _responses(self, client: socket.socket, server: socket.socket) -> None:
        with suppress(OSError):
            while data := server.recv(65536):
                if self._cut_at_response:
                    self._cut_at_response = False
                    self._severed.append(client)
                    client.shutdown(socket.SHUT_RDWR)
                    return
                client.sendall(data)
            client.shutdown(socket.SHUT_RDWR)

    def close(self) -> None:
        self._listener.shutdown(socket.SHUT_RDWR)
        for each in (self._listener, *self._clients, *self._servers):
            with suppress(OSError):
                each.shutdown(socket.SHUT_RDWR)
        for thread in self._threads:
            thread.join(5)
        for each in (self._listener, *self._clients, *self._servers):
            each.close()
