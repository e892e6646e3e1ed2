/**
 * Sends a form with files and reports how many bytes have left. `fetch` reports nothing, so this is an XMLHttpRequest. A broken-off
 * upload that is sent again with the same `idempotencyKey` creates nothing twice.
 */
import { language } from '../i18n/language.ts'
import { withBase } from '../lib/base-path.ts'
import { ApiError, errorOf } from './client.ts'

interface UploadOptions {
  signal?: AbortSignal
  idempotencyKey?: string
  /** Bytes sent so far, and all bytes, both with the frame of the form. */
  onProgress?: (sent: number, total: number) => void
}

/** Returns the answer as JSON. Throws `ApiError`; code `aborted` after an abort. */
export function upload<T>(path: string, form: FormData, options: UploadOptions = {}): Promise<T> {
  const { signal, idempotencyKey, onProgress } = options
  return new Promise((resolve, reject) => {
    const request = new XMLHttpRequest()
    request.open('POST', withBase(path))
    request.setRequestHeader('accept', 'application/json')
    request.setRequestHeader('accept-language', language.get())
    if (idempotencyKey !== undefined) request.setRequestHeader('idempotency-key', idempotencyKey)
    const abort = () => request.abort()
    const end = () => signal?.removeEventListener('abort', abort)
    if (onProgress !== undefined)
      request.upload.onprogress = ({ loaded, total, lengthComputable }) => {
        if (lengthComputable) onProgress(loaded, total)
      }
    request.onload = () => {
      end()
      const { status, responseText } = request
      if (status >= 200 && status < 300) resolve(JSON.parse(responseText) as T)
      else void errorFrom(request).then(reject)
    }
    request.onerror = () => {
      end()
      reject(new ApiError(0, 'network', 'network'))
    }
    request.onabort = () => {
      end()
      reject(new ApiError(0, 'aborted', 'aborted'))
    }
    signal?.addEventListener('abort', abort)
    if (signal?.aborted) return request.onabort(new ProgressEvent('abort'))
    request.send(form)
  })
}

/** The same error as of `call`. */
function errorFrom(request: XMLHttpRequest): Promise<ApiError> {
  const { status, statusText, responseText } = request
  const headers = { 'retry-after': request.getResponseHeader('retry-after') ?? '' }
  return errorOf(new Response(responseText, { status, statusText, headers }))
}
