/** A job as it goes on: read again after each event of its stream, and every few seconds while it is open. */
import { useQueryClient } from '@tanstack/react-query'
import { useRef } from 'react'
import { keyOf, useApi } from '../../api/query.ts'
import { useLive } from '../../live/use-live.ts'
import { isFinal, type JobDetail } from './job-model.ts'

const readEveryMs = 3000

/** Without the large values: the job is read again and again, and a value may have megabytes. */
const readOf = (id: string) => ({ params: { id }, query: { values: 'short' } }) as const

export function useJob(id: string): ReturnType<typeof useApi<'GET /api/v1/jobs/{id}'>> {
  const client = useQueryClient()
  const read = useApi('GET /api/v1/jobs/{id}', readOf(id))
  const open = read.data !== undefined && !isFinal(read.data.state)
  // The same query, read again and again while the job is open.
  useApi('GET /api/v1/jobs/{id}', readOf(id), { enabled: open, every: readEveryMs })
  const timer = useRef<ReturnType<typeof setTimeout> | undefined>(undefined)
  useLive(open ? { job: id } : undefined, ({ type, data }) => {
    if (type === 'progress') {
      const { at: _at, job_id: _job, batch_id: _batch, ...progress } = data
      client.setQueryData<JobDetail>(keyOf('GET /api/v1/jobs/{id}', readOf(id)), before =>
        before === undefined ? before : { ...before, progress },
      )
      return
    }
    // Several events of one change come together.
    timer.current ??= setTimeout(() => {
      timer.current = undefined
      void client.invalidateQueries({
        predicate: ({ queryKey: [operation, params] }) =>
          typeof operation === 'string' &&
          operation.startsWith('GET /api/v1/jobs/{id}') &&
          (params as { id?: string } | null)?.id === id,
      })
    }, 100)
  })
  return read
}
