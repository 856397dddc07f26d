// replaced by the recorder
