/**
 * Leaves a list as soon as the signal aborts, also while the list yields nothing: the next item then throws the signal's reason. The
 * source of the list gets `return()`, and `leaving` does not wait for the answer.
 */
import { unlessAborted } from './abortable.ts'

export function abortableIterable<T>(
  list: Iterable<T> | AsyncIterable<T>,
  signal: AbortSignal | undefined,
): Iterable<T> | AsyncIterable<T> {
  // A synchronous list never waits.
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
          const next = await unlessAborted(Promise.resolve(reading.next()), signal)
          if (next !== undefined) return next
          leave().catch(() => {})
          throw signal.reason
        },
        return: leave,
      }
    },
  }
}
