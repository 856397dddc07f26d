show another_clock.etdp --delegate-clock Qnn=1
