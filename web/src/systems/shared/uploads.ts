/**
 * Uploads of one file a request, in order, a few at a time: for documents and images. A limit of the server (429) is waited for, a lost
 * connection is tried again by hand. Each file has one key, so that a repeated upload creates nothing twice.
 */
import { useEffect, useReducer, useRef } from 'react'
import { ApiError } from '../../api/client.ts'
import { newRequestKey } from '../../lib/request-key.ts'

export type Upload = { id: string; file: File } & (
  | { state: 'queued' }
  | { state: 'sending'; sent: number }
  | { state: 'waiting'; until: number }
  | { state: 'sent' }
  | { state: 'failed'; error: ApiError }
)

interface SendOptions {
  idempotencyKey: string
  signal: AbortSignal
  onProgress(sent: number, total: number): void
}

interface UploadsOptions {
  send(file: File, options: SendOptions): Promise<unknown>
  /** Called after each file that the server took. */
  onSent?: (file: File) => void
  atOnce?: number
}

export interface Uploads {
  all: readonly Upload[]
  isBusy: boolean
  add(files: readonly File[]): void
  /** Without an id: all that failed. */
  retry(id?: string): void
  /** Forgets the files that were sent or failed. */
  clear(): void
  /** Breaks off what is under way and forgets what waits. */
  stop(): void
}

/** A file that the server refuses is refused again; the network and a 5xx may be back. */
export const mayRetry = (upload: Upload): boolean =>
  upload.state === 'failed' && (upload.error.status === 0 || upload.error.status >= 500)

const isOver = ({ state }: Upload) => state === 'sent' || state === 'failed'

class UploadQueue {
  all: readonly Upload[] = []
  readonly #changed: () => void
  readonly #options: () => UploadsOptions
  #stop = new AbortController()
  #running = 0
  #resumeAt = 0

  constructor(options: () => UploadsOptions, changed: () => void) {
    this.#options = options
    this.#changed = changed
  }

  add(files: readonly File[]): void {
    this.all = [...this.all, ...files.map(file => ({ id: newRequestKey(), file, state: 'queued' as const }))]
    this.#pump()
  }

  retry(id?: string): void {
    this.all = this.all.map(each =>
      mayRetry(each) && (id === undefined || each.id === id) ? { id: each.id, file: each.file, state: 'queued' } : each,
    )
    this.#pump()
  }

  clear(): void {
    this.all = this.all.filter(each => !isOver(each))
    this.#changed()
  }

  stop(): void {
    this.#stop.abort()
    this.#stop = new AbortController()
    this.all = this.all.filter(isOver)
    this.#changed()
  }

  #pump(): void {
    const { atOnce = 2 } = this.#options()
    const { signal } = this.#stop
    for (const each of this.all) {
      if (this.#running >= atOnce) break
      if (each.state === 'queued') void this.#send(each, signal)
    }
    this.#changed()
  }

  #set(id: string, next: Upload | undefined): void {
    this.all = this.all.map(each => (each.id === id && next !== undefined ? next : each))
    this.#changed()
  }

  async #send({ id, file }: Upload, signal: AbortSignal): Promise<void> {
    const { send, onSent } = this.#options()
    this.#running++
    this.#set(id, { id, file, state: 'sending', sent: 0 })
    try {
      await this.#wait(id, file, signal)
      await send(file, {
        idempotencyKey: id,
        signal,
        onProgress: (sent, total) =>
          this.#set(id, { id, file, state: 'sending', sent: total === 0 ? 0 : sent / total }),
      })
      this.#set(id, { id, file, state: 'sent' })
      onSent?.(file)
    } catch (error) {
      if (!signal.aborted) this.#failed(id, file, error)
    } finally {
      this.#running--
      if (!signal.aborted) this.#pump()
    }
  }

  /** While the limit of the server is reached, no file of the queue is sent. */
  async #wait(id: string, file: File, signal: AbortSignal): Promise<void> {
    while (Date.now() < this.#resumeAt && !signal.aborted) {
      this.#set(id, { id, file, state: 'waiting', until: this.#resumeAt })
      const left = this.#resumeAt - Date.now()
      await new Promise<void>(resolve => {
        setTimeout(resolve, left)
        signal.addEventListener('abort', () => resolve(), { once: true })
      })
    }
  }

  #failed(id: string, file: File, error: unknown): void {
    const known = error instanceof ApiError ? error : new ApiError(0, 'unknown', String(error))
    const isLimited = known.status === 429 && known.retryAfterSeconds !== undefined
    if (isLimited) this.#resumeAt = Math.max(this.#resumeAt, Date.now() + (known.retryAfterSeconds ?? 1) * 1000)
    this.#set(id, isLimited ? { id, file, state: 'queued' } : { id, file, state: 'failed', error: known })
  }
}

export function useUploads(options: UploadsOptions): Uploads {
  const latest = useRef(options)
  latest.current = options
  const [, changed] = useReducer((count: number) => count + 1, 0)
  const made = useRef<UploadQueue | undefined>(undefined)
  made.current ??= new UploadQueue(
    () => latest.current,
    () => changed(undefined as never),
  )
  const queue = made.current
  const isBusy = queue.all.some(each => !isOver(each))
  useLeaveWarning(isBusy)
  return {
    all: queue.all,
    isBusy,
    add: files => queue.add(files),
    retry: id => queue.retry(id),
    clear: () => queue.clear(),
    stop: () => queue.stop(),
  }
}

/** The browser asks before it closes the page while files are on their way. */
export function useLeaveWarning(isBusy: boolean): void {
  useEffect(() => {
    if (!isBusy) return undefined
    const warn = (event: BeforeUnloadEvent) => event.preventDefault()
    addEventListener('beforeunload', warn)
    return () => removeEventListener('beforeunload', warn)
  }, [isBusy])
}
