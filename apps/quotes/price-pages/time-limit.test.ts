/** A time limit beside the signal of an attempt. */
import { once } from 'node:events'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { expect, test } from 'vitest'
import { withTimeLimit } from './time-limit.ts'

test('a time limit aborts although the garbage collector has run since', async () => {
  setFlagsFromString('--expose-gc')
  const collect = runInNewContext('gc') as () => void
  const limited = withTimeLimit(new AbortController().signal, 50)
  collect()
  await once(limited, 'abort')
  expect(limited.reason).toMatchObject({ name: 'TimeoutError' })
})

test('the end of the attempt aborts with its own reason, also if the attempt has ended before', async () => {
  const attempt = new AbortController()
  const limited = withTimeLimit(attempt.signal, 60_000)
  attempt.abort('over')
  expect(limited.reason).toBe('over')
  expect(withTimeLimit(attempt.signal, 60_000).reason).toBe('over')
})
