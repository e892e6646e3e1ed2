/**
 * Uploads of one file a request, in order, a few at a time: for documents and images. A limit of the server (429) is waited for, a lost
 * connection is tried again by hand. Each file has one key, so that a repeated upload creates nothing twice.
 *
 * Invariant: uploads go on while another page of the dashboard is shown, and their page shows them again. If they end unseen, a toast
 * reports them.
 */
import { useEffect, useReducer } from 'react'
import { ApiError } from '../../api/client.ts'
import { useToast } from '../../components/toast.tsx'
import { useMessages } from '../../i18n/messages.ts'
import { setLeaveWarning } from '../../lib/leave-warning.ts'
import { newRequestKey } from '../../lib/request-key.ts'
import { sharedMessages } from './messages.ts'

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

interface QueueOptions extends UploadsOptions {
  /** Called when the last file ended while no page showed the queue. */
  onUnseenEnd(sent: number, failed: number): void
}

class UploadQueue {
  all: readonly Upload[] = []
  readonly #pages = new Set<() => void>()
  #options: QueueOptions
  #stop = new AbortController()
  #running = 0
  #resumeAt = 0

  constructor(options: QueueOptions) {
    this.#options = options
  }

  get isBusy(): boolean {
    return this.all.some(each => !isOver(each))
  }

  set options(options: QueueOptions) {
    this.#options = options
  }

  /** Calls `changed` after each change until the returned function is called. */
  show(changed: () => void): () => void {
    this.#pages.add(changed)
    return () => {
      this.#pages.delete(changed)
    }
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

  #changed(): void {
    setLeaveWarning(this, this.isBusy)
    for (const changed of this.#pages) changed()
  }

  #pump(): void {
    const { atOnce = 2 } = this.#options
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
    const { send, onSent } = this.#options
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
      if (!signal.aborted) {
        this.#pump()
        if (!this.isBusy && this.#pages.size === 0) this.#endUnseen()
      }
    }
  }

  #endUnseen(): void {
    const sent = this.all.filter(({ state }) => state === 'sent').length
    this.#options.onUnseenEnd(sent, this.all.length - sent)
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

const queues = new Map<string, UploadQueue>()

/** `name`: of the queue, which outlives the page. */
export function useUploads(name: string, options: UploadsOptions): Uploads {
  const words = useMessages(sharedMessages)
  const toast = useToast()
  const [, changed] = useReducer((count: number) => count + 1, 0)
  const given: QueueOptions = {
    ...options,
    onUnseenEnd: (sent, failed) =>
      toast.show(
        failed === 0 ? 'good' : 'bad',
        failed === 0 ? words.uploadsSent(sent) : words.uploadsEnded(sent, failed),
      ),
  }
  const queue = queues.get(name) ?? new UploadQueue(given)
  queues.set(name, queue)
  queue.options = given
  useEffect(() => {
    const update = () => changed(undefined as never)
    update()
    return queue.show(update)
  }, [queue])
  return {
    all: queue.all,
    isBusy: queue.isBusy,
    add: files => queue.add(files),
    retry: id => queue.retry(id),
    clear: () => queue.clear(),
    stop: () => queue.stop(),
  }
}
