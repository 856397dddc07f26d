show chrome_trace.json
