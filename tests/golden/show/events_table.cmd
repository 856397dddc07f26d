show another_clock.etdp --events
