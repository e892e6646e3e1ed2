/**
 * Sends the files of a classification: one request for up to 2,000 files, one execution for each request.
 *
 * Invariant: each part has one key for as long as its files stay the same. A part that is sent again after a lost answer creates no
 * second execution; parts that were answered are not sent again. An upload goes on while another page of the dashboard is shown, and the
 * page shows the upload again.
 */
import { useEffect, useReducer } from 'react'
import { ApiError } from '../../api/client.ts'
import { upload } from '../../api/upload.ts'
import { setLeaveWarning } from '../../lib/leave-warning.ts'
import { newRequestKey } from '../../lib/request-key.ts'

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

class Submission {
  sending: Sending | undefined
  error: ApiError | undefined
  /** What is sent, or was sent in part; undefined once all parts are answered. */
  given: Given | undefined
  /** Grows when all parts are answered. */
  round = 0
  readonly #pages = new Set<() => void>()
  #parts: readonly Part[] = []
  #abort = new AbortController()

  /** Executions that the server has created for `given`. */
  get created(): number {
    return this.#parts.filter(({ id }) => id !== undefined).length
  }

  /** True while the page of new executions is on the screen. */
  get isShown(): boolean {
    return this.#pages.size > 0
  }

  /** Calls `changed` after each change until the returned function is called. */
  show(changed: () => void): () => void {
    this.#pages.add(changed)
    return () => {
      this.#pages.delete(changed)
    }
  }

  /** Returns the ids of the executions; undefined if the upload did not finish. */
  async send(given: Given): Promise<readonly string[] | undefined> {
    const before = this.given
    const isSame = before?.files === given.files && before.project === given.project && before.reuse === given.reuse
    if (!isSame) this.#parts = partsOf(given.files)
    const parts = this.#parts
    this.given = given
    this.#abort = new AbortController()
    this.error = undefined
    const { signal } = this.#abort
    const bytes = bytesOf(given.files)
    const startedAt = Date.now()
    const show = (n: number, sentOfPart: number) => {
      const sentBytes = Math.min(bytes, bytesOf(parts.slice(0, n).flatMap(({ files }) => files)) + sentOfPart)
      this.sending = { files: given.files.length, bytes, sentBytes, startedAt, part: n + 1, parts: parts.length }
      this.#changed()
    }
    try {
      for (const [n, part] of parts.entries()) {
        if (part.id !== undefined) continue
        show(n, 0)
        const answer = await upload<Answered>('/execucoes', formOf(given, part), {
          idempotencyKey: part.key,
          signal,
          onProgress: sent => show(n, sent),
        })
        part.id = answer.id
      }
      this.given = undefined
      this.round++
      return parts.flatMap(({ id }) => (id === undefined ? [] : [id]))
    } catch (caught) {
      this.error = caught instanceof ApiError ? caught : new ApiError(0, 'unknown', String(caught))
      return undefined
    } finally {
      this.sending = undefined
      this.#changed()
    }
  }

  stop(): void {
    this.#abort.abort()
  }

  #changed(): void {
    setLeaveWarning(this, this.sending !== undefined)
    for (const changed of this.#pages) changed()
  }
}

/** One for the dashboard: the page of new executions sends one upload at a time. */
const submission = new Submission()

export function useSubmission(): Submission {
  const [, changed] = useReducer((count: number) => count + 1, 0)
  useEffect(() => submission.show(() => changed(undefined as never)), [])
  return submission
}

/** The project comes first, so that the server refuses an unknown one before the files. */
function formOf({ project, reuse }: Given, { files }: Part): FormData {
  const form = new FormData()
  form.append('projeto_id', project)
  if (reuse) form.append('reaproveitar', 'true')
  for (const file of files) form.append('arquivos', file, file.name)
  return form
}
