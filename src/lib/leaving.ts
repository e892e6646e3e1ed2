/**
 * A list that is left as soon as the signal aborts, also while it gives nothing: the next item is then the signal's reason,
 * thrown. Whoever gives the list is told, and not waited for.
 */
import { orAborted } from './or-aborted.ts'

export function leaving<T>(
  list: Iterable<T> | AsyncIterable<T>,
  signal: AbortSignal | undefined,
): Iterable<T> | AsyncIterable<T> {
  // Nobody waits inside of a list that is there.
  if (signal === undefined || !(Symbol.asyncIterator in Object(list))) return list
  return {
    [Symbol.asyncIterator]() {
      const reading = (list as AsyncIterable<T>)[Symbol.asyncIterator]()
      const leave = async (): Promise<IteratorResult<T>> => {
        await reading.return?.()
        return { done: true, value: undefined }
      }
      return {
        async next() {
          const next = await orAborted(Promise.resolve(reading.next()), signal)
          if (next !== undefined) return next
          leave().catch(() => {})
          throw signal.reason
        },
        return: leave,
      }
    },
  }
}
