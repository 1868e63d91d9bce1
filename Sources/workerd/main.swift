print("workerd")
