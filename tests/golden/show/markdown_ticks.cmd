show another_clock.etdp --format markdown
