show times_that_cannot_be.etdp --strict
