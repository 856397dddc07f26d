show another_clock.etdp --format csv
