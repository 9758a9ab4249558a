from hypothesis import given
from hypothesis import strategies as st

from bentham.core.policies.tournament import Tournament

changes = st.lists(st.tuples(st.integers(0, 40), st.one_of(st.none(), st.integers(-5, 5))))


@given(changes=changes, count=st.integers(1, 6))
def test_is_a_sorted_list(changes: list[tuple[int, int | None]], count: int) -> None:
    tournament: Tournament[tuple[int, int]] = Tournament()
    plain: dict[int, tuple[int, int]] = {}
    assert tournament.smallest(count) == []
    for player, value in changes:
        if value is None:
            tournament.update(player, None)
            plain.pop(player, None)
        else:
            tournament.update(player, (value, player))
            plain[player] = value, player
        ranked = [player for _, player in sorted(plain.values())]
        assert tournament.smallest(count) == ranked[:count]
