/**
 * Attaches to the server of a data folder, or starts the server. open and revive call this, from any number of processes at once:
 * PostgreSQL's own lock file lets a single process win, and the others find the winner's server.
 *
 * Invariant: the result is an open connection that counts as a user of the server (shared-use-lock.ts), never a guess from a process list. A
 * server launched on the way is then this server, or has ended: a server still on the way would find the folder free after all processes
 * have left, and run without users.
 */
import { lstat } from 'node:fs/promises'
import { join } from 'node:path'
import type pg from 'pg'
import { isRetomaError, localized } from '../errors/errors.ts'
import type { Clock } from '../lib/clock.ts'
import { type ProbeAnswer, port, probeServer } from './connect-probe.ts'
import { type DataDir, serverFolder } from './data-dir.ts'
import { type Launch, launch } from './launch-server.ts'
import { answeringPid, clearStale, livePid, pidfile } from './pidfile.ts'
import { closeConnection } from './server-connection.ts'
import { folderError, serverError, type Words } from './server-errors.ts'
import { enterSharedUse } from './shared-use-lock.ts'

/** Orphaned backends of a killed server keep the shared memory for 2 to 3 s. */
const waitLimit = 15_000
/** A recovering server gets this time. */
const recoveryPatience = 600_000
const pause = 20

// The last pattern: two servers found the pid file of a dead server, and the other server removed the file first.
export const othersAtWork =
  /lock file "[^"\n]*" (already exists|is empty)|shared memory block [^\n]{0,100}still in use|could not remove old lock file "[^"\n]*": No such file/

export interface Attached {
  client: pg.Client
  started: boolean
}

interface Coming {
  name: string
  fsync: boolean
  clock: Clock
  /** A caller that aborts stops the launched server, as the last process to leave (leave-server.ts). */
  signal?: AbortSignal
}

export async function attachOrStart(dataDir: DataDir, options: Coming): Promise<Attached> {
  const launches: Launch[] = []
  try {
    return await comeInOrLaunch(dataDir, options, launches)
  } catch (error) {
    // A process that could not enter cannot leave either, so the servers launched here must not stay.
    if (error !== options.signal?.reason) for (const each of launches) await each.takeBack()
    throw error
  }
}

async function comeInOrLaunch(dataDir: DataDir, options: Coming, launches: Launch[]): Promise<Attached> {
  const { clock, signal } = options
  const begun = clock.now().getTime()
  let lastAnswerAt = begun
  let why: Words = localized('it does not answer at its socket', 'ele não responde no socket')
  let ours: Launch | undefined
  while (true) {
    const answer = await comeIn(dataDir, options.name, ours)
    // No `await` since the entry, so the receiver of the connection sees the end of the connection.
    if (answer.is === 'up') return { client: answer.client, started: ours !== undefined && !ours.ended }
    const now = clock.now()
    if (answer.is !== 'away') {
      lastAnswerAt = now.getTime()
      why = answer.why
    }
    if (ours?.ended) {
      why = await ours.said()
      ours = undefined
      // The last process to leave removes a socket folder outside the data folder; then the folder is created again.
      const others = typeof why === 'string' && othersAtWork.test(why)
      if (!others && (await isFolder(dataDir.socket))) throw await serverError(dataDir, 'start', why)
    }
    // Waits until the launched server has a pid file and listens, so a caller that aborts can stop the server.
    const canBeStopped = answer.is === 'starting' && (await livePid(dataDir.data)) === ours?.pid
    if (signal?.aborted && (!ours || canBeStopped)) throw signal.reason
    if (answer.is === 'away' && !ours && (await livePid(dataDir.data)) === undefined) {
      const { uid } = serverFolder(dataDir, dataDir.data)
      await clearStale(dataDir.data, [pidfile(dataDir.data), join(dataDir.socket, `.s.PGSQL.${port}.lock`)], now, uid)
      ours = await launch(dataDir, options.fsync)
      launches.push(ours)
    }
    if (now.getTime() - lastAnswerAt > waitLimit || now.getTime() - begun > recoveryPatience)
      throw await serverError(dataDir, 'answer', why)
    await clock.sleep(pause)
  }
}

async function comeIn(dataDir: DataDir, name: string, ours: Launch | undefined): Promise<ProbeAnswer> {
  try {
    const answer = await probeServer(dataDir.socket, name)
    if (answer.is !== 'up') return answer
    const { client } = answer
    if (ours && !ours.ended && (await answeringPid(client, dataDir.data)) !== ours.pid) {
      await closeConnection(client)
      const why = localized(
        'another was launched at the same time and has not ended yet',
        'outro foi iniciado ao mesmo tempo e ainda não terminou',
      )
      return { is: 'starting', why }
    }
    const entered = await enterSharedUse(client).catch(() => undefined)
    if (entered) return answer
    await closeConnection(client)
    return entered === undefined
      ? { is: 'silent', why: localized('it does not answer', 'ele não responde') }
      : {
          is: 'starting',
          why: localized('the last process that used it is stopping it', 'quem o usou por último está parando-o'),
        }
  } catch (error) {
    const trouble = folderError(dataDir.folder, error)
    throw isRetomaError(trouble) ? trouble : await serverError(dataDir, 'answer', (error as Error).message)
  }
}

async function isFolder(path: string): Promise<boolean> {
  return lstat(path).then(
    found => found.isDirectory(),
    () => false,
  )
}
