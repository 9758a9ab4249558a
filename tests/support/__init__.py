"""What tests share: servers, browsers, workers and data to test with. Each room of tests, which is
named as the part of Bentham that it tests, imports what it needs, and no more."""
