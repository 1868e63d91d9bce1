print("workerctl")
