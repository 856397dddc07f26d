show times_that_cannot_be.etdp --format csv
