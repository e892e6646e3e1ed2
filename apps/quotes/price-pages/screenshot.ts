/**
 * Takes a picture of a kept page with Chromium (`CHROMIUM_PATH`), as evidence beside the bytes. Chromium gets the bytes of the page and
 * nothing else: every request of the page is refused, no name is resolved, and no script runs. So the picture shows the text of the page
 * without images and styles of other addresses, and a hostile page reaches no network.
 *
 * A picture is a bonus: without Chromium, after a timeout or after a crash there is no picture, and the quote goes on.
 *
 * Invariant: a process of Retoma runs at most `mostAtOnce` Chromium programs, however many quotes it runs; the program and its folder are gone
 * before the picture is returned.
 */
import { type ChildProcess, spawn } from 'node:child_process'
import { lstat, mkdtemp, readdir, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Readable, Writable } from 'node:stream'
import { decodePage } from './charset.ts'
import { localTurns } from './local-turns.ts'
import { withTimeLimit } from './time-limit.ts'

export interface ScreenshotOptions {
  /** The program, as in CHROMIUM_PATH. */
  chromium: string
  /** Time limit of a picture. Default 20 s. */
  timeoutMs?: number | undefined
  /** Programs at the same time. Default 2: Chromium takes some hundred megabytes. */
  mostAtOnce?: number | undefined
  /** A page that waits longer for its turn gets no picture. Default 60 s. */
  longestWaitMs?: number | undefined
}

export type TakePicture = (
  page: { page: Uint8Array; contentType: string | null },
  signal: AbortSignal,
) => Promise<Uint8Array | null>

const mostAnswer = 20 * 1024 * 1024
const size = { width: 1280, height: 1600 }

/** The returned function answers a PNG; null: there is no picture. It rejects only with the reason of its signal. */
export function createScreenshots(options: ScreenshotOptions): TakePicture {
  const { chromium, timeoutMs = 20_000, mostAtOnce = 2, longestWaitMs = 60_000 } = options
  const turns = localTurns(mostAtOnce)
  let swept: Promise<void> | undefined
  const sweepOnce = (own: string) => (swept ??= removeLeftFolders(own).catch(() => {}))
  return async (page, signal) => {
    signal.throwIfAborted()
    try {
      const leave = await turns.enter(chromium, withTimeLimit(signal, longestWaitMs))
      try {
        return await picture(chromium, page, withTimeLimit(signal, timeoutMs), sweepOnce)
      } finally {
        leave()
      }
    } catch {
      signal.throwIfAborted()
      return null
    }
  }
}

const prefix = 'retoma-page-'
/** Longer than any picture takes, with its wait. In milliseconds. */
const leftAfter = 60 * 60 * 1000

/** Removes the folders of this user that processes left which died during a picture. The age counts from the `own` new folder. */
async function removeLeftFolders(own: string): Promise<void> {
  const { mtimeMs: now, uid } = await lstat(own)
  for (const name of await readdir(tmpdir())) {
    if (!name.startsWith(prefix)) continue
    const folder = join(tmpdir(), name)
    const found = await lstat(folder).catch(() => undefined)
    if (!found?.isDirectory() || found.uid !== uid || now - found.mtimeMs < leftAfter) continue
    await rm(folder, { recursive: true, force: true }).catch(() => {})
  }
}

async function picture(
  chromium: string,
  { page, contentType }: { page: Uint8Array; contentType: string | null },
  deadline: AbortSignal,
  sweepOnce: (own: string) => Promise<void>,
): Promise<Uint8Array> {
  const folder = await mkdtemp(join(tmpdir(), prefix))
  try {
    await sweepOnce(folder)
    const child = start(chromium, folder)
    const ended = new Promise<void>(resolve => child.once('exit', () => resolve()).once('error', () => resolve()))
    try {
      return await pictureOf(new Browser(child, deadline), decodePage(page, contentType))
    } finally {
      kill(child)
      await ended
      // A process that outlives its parent could keep the pipes open.
      for (const stream of child.stdio) stream?.destroy()
    }
  } finally {
    await rm(folder, { recursive: true, force: true, maxRetries: 3 }).catch(() => {})
  }
}

function start(chromium: string, folder: string): ChildProcess {
  const child = spawn(
    chromium,
    [
      '--headless',
      '--remote-debugging-pipe',
      // As root, and in most containers, Chromium has no sandbox of its own; the page runs no script and reaches no network.
      '--no-sandbox',
      '--disable-gpu',
      '--disable-extensions',
      '--disable-background-networking',
      '--disable-component-update',
      '--disable-sync',
      '--no-first-run',
      '--mute-audio',
      '--hide-scrollbars',
      '--proxy-server=direct://',
      '--host-resolver-rules=MAP * ~NOTFOUND',
      '--blink-settings=scriptEnabled=false',
      `--window-size=${size.width},${size.height}`,
      `--user-data-dir=${folder}`,
      'about:blank',
    ],
    {
      stdio: ['ignore', 'ignore', 'ignore', 'pipe', 'pipe'],
      // A group of its own, so that the processes of Chromium end together.
      detached: true,
      env: environment(folder),
    },
  )
  child.on('error', () => {})
  return child
}

/** No variable of the worker with a secret. */
const environment = (home: string): NodeJS.ProcessEnv => {
  const names = ['PATH', 'LANG', 'LC_ALL', 'TZ', 'LD_LIBRARY_PATH', 'FONTCONFIG_PATH', 'FONTCONFIG_FILE']
  const kept = names.flatMap(name => (process.env[name] === undefined ? [] : [[name, process.env[name]]]))
  return { ...Object.fromEntries(kept), HOME: home, TMPDIR: home }
}

function kill(child: ChildProcess): void {
  try {
    if (child.pid !== undefined) process.kill(-child.pid, 'SIGKILL')
  } catch {
    child.kill('SIGKILL')
  }
}

async function pictureOf(browser: Browser, html: string): Promise<Uint8Array> {
  const { targetId } = await browser.send('Target.createTarget', { url: 'about:blank', ...size })
  const { sessionId } = await browser.send('Target.attachToTarget', { targetId, flatten: true })
  const send = (method: string, parameters: object = {}) => browser.send(method, parameters, sessionId as string)
  browser.onEvent = (method, { requestId }) => {
    if (method !== 'Fetch.requestPaused') return
    send('Fetch.failRequest', { requestId, errorReason: 'Aborted' }).catch(() => {})
  }
  await send('Fetch.enable', { patterns: [{ urlPattern: '*' }] })
  await send('Emulation.setScriptExecutionDisabled', { value: true })
  await send('Page.enable')
  const { frameTree } = await send('Page.getFrameTree')
  const { id: frameId } = (frameTree as { frame: { id: string } }).frame
  await send('Page.setDocumentContent', { frameId, html })
  const { data } = await send('Page.captureScreenshot', { format: 'png', clip: { x: 0, y: 0, ...size, scale: 1 } })
  return Buffer.from(data as string, 'base64')
}

type Answer = Record<string, unknown>

/** The protocol of Chromium's developer tools over a pipe: JSON messages that end with a NUL. */
class Browser {
  readonly #to: Writable
  readonly #waiting = new Map<number, { resolve: (answer: Answer) => void; reject: (error: Error) => void }>()
  #next = 1
  #over: Error | undefined
  onEvent: (method: string, parameters: Answer) => void = () => {}

  constructor(child: ChildProcess, signal: AbortSignal) {
    this.#to = child.stdio[3] as Writable
    const from = child.stdio[4] as Readable
    let text = ''
    from.setEncoding('utf8')
    from.on('data', (piece: string) => {
      text += piece
      if (text.length > mostAnswer) return this.#end()
      const messages = text.split('\0')
      text = messages.pop() ?? ''
      for (const message of messages) this.#read(message)
    })
    for (const stream of [this.#to, from]) stream.on('error', () => this.#end())
    child.once('error', () => this.#end())
    child.once('close', () => this.#end())
    signal.addEventListener('abort', () => this.#end(), { once: true })
    if (signal.aborted) this.#end()
  }

  send(method: string, params: object, sessionId?: string): Promise<Answer> {
    const id = this.#next++
    return new Promise((resolve, reject) => {
      if (this.#over !== undefined) return reject(this.#over)
      this.#waiting.set(id, { resolve, reject })
      this.#to.write(`${JSON.stringify({ id, method, params, ...(sessionId === undefined ? {} : { sessionId }) })}\0`)
    })
  }

  #read(message: string): void {
    const { id, result, error, method, params } = parsed(message)
    if (typeof method === 'string') this.onEvent(method, (params ?? {}) as Answer)
    const waiting = this.#waiting.get(id as number)
    this.#waiting.delete(id as number)
    if (error === undefined) waiting?.resolve((result ?? {}) as Answer)
    else waiting?.reject(new Error('refused'))
  }

  #end(): void {
    this.#over ??= new Error('no browser')
    for (const { reject } of this.#waiting.values()) reject(this.#over)
    this.#waiting.clear()
  }
}

/** A message that is no JSON answers nothing; the deadline ends the wait. */
function parsed(message: string): Answer {
  try {
    return Object(JSON.parse(message)) as Answer
  } catch {
    return {}
  }
}
