import { expect, onTestFinished, test } from 'vitest'
import { hookName, installCurrentJobHook, type RunningJob } from './current-job-hook.ts'

const ask = () => (globalThis as unknown as Record<symbol, () => string | undefined>)[Symbol.for(hookName)]!()

function worker(knowsJob: boolean, id: string | undefined): () => void {
  const job: RunningJob | undefined = id === undefined ? undefined : { id, attempt: 1, kind: 'k', leftMs: 5 }
  const remove = installCurrentJobHook({ knowsJob, current: () => job })
  onTestFinished(remove)
  return remove
}

test('a worker that only guesses is not asked while another engine knows the job of the running code', () => {
  worker(false, '1')
  const remove = worker(true, '2')
  expect(JSON.parse(ask()!)).toMatchObject({ id: '2' })
  remove()
  expect(JSON.parse(ask()!)).toMatchObject({ id: '1' })
})

test('a known job that no worker has is no job of any worker', () => {
  worker(false, '1')
  worker(true, undefined)
  expect(ask()).toBeUndefined()
})
