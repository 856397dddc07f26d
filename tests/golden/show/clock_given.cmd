show another_clock.etdp --delegate-clock DELEGATE_CALL=250
