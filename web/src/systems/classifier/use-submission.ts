/**
 * Sends the files of a classification: one request for up to 2,000 files, one execution for each request.
 *
 * Invariant: each part has one key for as long as its files stay the same. A part that is sent again after a lost answer creates no
 * second execution; parts that were answered are not sent again.
 */
import { useRef, useState } from 'react'
import { ApiError } from '../../api/client.ts'
import { upload } from '../../api/upload.ts'
import { newRequestKey } from '../../lib/request-key.ts'
import { useLeaveWarning } from '../shared/uploads.ts'

export const mostDocuments = 2000
export const largestFile = 50 * 1024 * 1024

export interface Sending {
  /** Of all parts. */
  files: number
  bytes: number
  sentBytes: number
  startedAt: number
  part: number
  parts: number
}

interface Part {
  key: string
  files: readonly File[]
  /** The execution, once the server has answered. */
  id?: string
}

interface Given {
  project: string
  reuse: boolean
  files: readonly File[]
}

export interface Submission {
  sending: Sending | undefined
  error: ApiError | undefined
  /** Returns the ids of the executions; undefined if the upload did not finish. */
  send(given: Given): Promise<readonly string[] | undefined>
  stop(): void
}

interface Answered {
  id: string
  total: number
}

const partsOf = (files: readonly File[]): Part[] =>
  Array.from({ length: Math.ceil(files.length / mostDocuments) }, (_, n) => ({
    key: newRequestKey(),
    files: files.slice(n * mostDocuments, (n + 1) * mostDocuments),
  }))

const bytesOf = (files: readonly File[]) => files.reduce((sum, file) => sum + file.size, 0)

export function useSubmission(): Submission {
  const [sending, setSending] = useState<Sending>()
  const [error, setError] = useState<ApiError>()
  const parts = useRef<{ of: Given; all: Part[] } | undefined>(undefined)
  const abort = useRef<AbortController | undefined>(undefined)
  useLeaveWarning(sending !== undefined)

  const send = async (given: Given) => {
    const before = parts.current
    const isSame =
      before !== undefined &&
      before.of.files === given.files &&
      before.of.project === given.project &&
      before.of.reuse === given.reuse
    const all = isSame ? before.all : partsOf(given.files)
    parts.current = { of: given, all }
    abort.current = new AbortController()
    setError(undefined)
    const bytes = bytesOf(given.files)
    const startedAt = Date.now()
    const show = (n: number, sentOfPart: number) =>
      setSending({
        files: given.files.length,
        bytes,
        sentBytes: Math.min(bytes, bytesOf(all.slice(0, n).flatMap(part => part.files)) + sentOfPart),
        startedAt,
        part: n + 1,
        parts: all.length,
      })
    try {
      for (const [n, part] of all.entries()) {
        if (part.id !== undefined) continue
        show(n, 0)
        const { signal } = abort.current
        const answer = await upload<Answered>('/execucoes', formOf(given, part), {
          idempotencyKey: part.key,
          signal,
          onProgress: sent => show(n, sent),
        })
        part.id = answer.id
      }
      return all.flatMap(({ id }) => (id === undefined ? [] : [id]))
    } catch (caught) {
      setError(caught instanceof ApiError ? caught : new ApiError(0, 'unknown', String(caught)))
      return undefined
    } finally {
      setSending(undefined)
    }
  }

  return { sending, error, send, stop: () => abort.current?.abort() }
}

/** The project comes first, so that the server refuses an unknown one before the files. */
function formOf({ project, reuse }: Given, { files }: Part): FormData {
  const form = new FormData()
  form.append('projeto_id', project)
  if (reuse) form.append('reaproveitar', 'true')
  for (const file of files) form.append('arquivos', file, file.name)
  return form
}
