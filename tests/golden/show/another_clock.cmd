show another_clock.etdp
