/** Rejects a promise that takes longer than `ms`. `late` makes the error and may clean up. */
export function withDeadline<T>(promise: Promise<T>, ms: number, late: () => Error): Promise<T> {
  return new Promise<T>((resolve, reject) => {
    const timer = setTimeout(() => reject(late()), ms)
    promise.then(resolve, reject).finally(() => clearTimeout(timer))
  })
}
