/** The ends of the process that reads a file, as errors of the planner. */
import { type JobContext, megabytes, RetomaError, seconds } from 'retoma'
import { expect, test } from 'vitest'
import { readAway } from './read-away.ts'

const limits = { timeout: seconds(20), memory: megabytes(512), maxBytes: 1 }

/** The error of a job whose process ends with this error. */
const ended = (error: RetomaError): Promise<Error & { code?: string }> => {
  const ctx = { isolated: () => Promise.reject(error) } as unknown as JobContext
  return readAway(ctx, 'image', new URL('file:///image.js'), {}, limits).then(
    () => expect.unreachable(),
    reason => reason,
  )
}

test('a file beyond the time or the memory of its process, or that crashes the process, fails the job with a code and the limit', async () => {
  const timeout = await ended(new RetomaError('isolated_timeout', { step: 'image', seconds: 20 }))
  expect([timeout.code, timeout.message]).toEqual(['planner_file_timeout', 'o arquivo não pôde ser lido em 20 s'])
  const memory = await ended(new RetomaError('isolated_memory', { step: 'image', megabytes: 512 }))
  expect([memory.code, memory.message]).toEqual([
    'planner_file_memory',
    'o arquivo precisa de mais de 512 MB de memória',
  ])
  const crash = (signal: string) => new RetomaError('isolated_crash', { step: 'image', how: signal, ...{ signal } })
  const crashed = await ended(crash('SIGSEGV'))
  expect([crashed.code, crashed.message]).toEqual([
    'planner_file_crash',
    'o arquivo derrubou o processo que o lia: SIGSEGV',
  ])
  // Another process has killed the child: the file is not the cause.
  expect((await ended(crash('SIGKILL'))).code).toBe('isolated_crash')
})
