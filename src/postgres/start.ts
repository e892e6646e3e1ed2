/**
 * Attaches to the server of a data folder, or starts it. Called by open and by revive, from any number of processes at
 * once: PostgreSQL's own lock file lets one of them win, and the others find its server.
 *
 * Invariant: the answer is an open connection that counts as a user of the server (presence.ts), never a guess from a
 * process list. What was launched on the way is then that server, or has ended: one that is still on its way would find
 * the folder free once everybody has left, and serve nobody.
 */
import { lstat } from 'node:fs/promises'
import { join } from 'node:path'
import type pg from 'pg'
import { isRetomaError, say } from '../errors.ts'
import type { Clock } from '../lib/clock.ts'
import { hangUp } from './connection.ts'
import { type Home, serverFolder } from './home.ts'
import { type Answer, knock, port } from './knock.ts'
import { type Launch, launch } from './launch.ts'
import { answeringPid, clearStale, livePid, pidfile } from './pidfile.ts'
import { enter } from './presence.ts'
import { folderTrouble, serverTrouble, type Words } from './trouble.ts'

/** Orphaned backends of a killed server hold its memory for two or three seconds. */
const patience = 15_000
/** A server that says it is recovering is left to it. */
const recoveryPatience = 600_000
const pause = 20

// The last of them: two found the note of a dead one, and the other removed it first.
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
  /** Who gives up by it stops what was launched himself, as the last one out (leave.ts). */
  signal?: AbortSignal
}

export async function attachOrStart(home: Home, options: Coming): Promise<Attached> {
  const launches: Launch[] = []
  try {
    return await comeInOrLaunch(home, options, launches)
  } catch (error) {
    // Whoever could not come in cannot leave either, so what he launched must not stay.
    if (error !== options.signal?.reason) for (const each of launches) await each.takeBack()
    throw error
  }
}

async function comeInOrLaunch(home: Home, options: Coming, launches: Launch[]): Promise<Attached> {
  const { clock, signal } = options
  const begun = clock.now().getTime()
  let heard = begun
  let why: Words = say('it does not answer at its socket', 'ele não responde no socket')
  let ours: Launch | undefined
  while (true) {
    const answer = await comeIn(home, options.name, ours)
    // Nothing is awaited since it came in, so that whoever gets the connection sees its end.
    if (answer.is === 'up') return { client: answer.client, started: ours !== undefined && !ours.ended }
    const now = clock.now()
    if (answer.is !== 'away') {
      heard = now.getTime()
      why = answer.why
    }
    if (ours?.ended) {
      why = await ours.said()
      ours = undefined
      // Whoever leaves last removes a socket folder outside the data; then it is made again.
      const others = typeof why === 'string' && othersAtWork.test(why)
      if (!others && (await isFolder(home.socket))) throw await serverTrouble(home, 'start', why)
    }
    // What we have launched is seen through until it has its note and listens, so that a caller who gives up can stop it.
    const canBeStopped = answer.is === 'starting' && (await livePid(home.data)) === ours?.pid
    if (signal?.aborted && (!ours || canBeStopped)) throw signal.reason
    if (answer.is === 'away' && !ours && (await livePid(home.data)) === undefined) {
      const { uid } = serverFolder(home, home.data)
      await clearStale(home.data, [pidfile(home.data), join(home.socket, `.s.PGSQL.${port}.lock`)], now, uid)
      ours = await launch(home, options.fsync)
      launches.push(ours)
    }
    if (now.getTime() - heard > patience || now.getTime() - begun > recoveryPatience)
      throw await serverTrouble(home, 'answer', why)
    await clock.sleep(pause)
  }
}

async function comeIn(home: Home, name: string, ours: Launch | undefined): Promise<Answer> {
  try {
    const answer = await knock(home.socket, name)
    if (answer.is !== 'up') return answer
    const { client } = answer
    if (ours && !ours.ended && (await answeringPid(client, home.data)) !== ours.pid) {
      await hangUp(client)
      const why = say(
        'another was launched at the same time and has not ended yet',
        'outro foi iniciado ao mesmo tempo e ainda não terminou',
      )
      return { is: 'starting', why }
    }
    const entered = await enter(client).catch(() => undefined)
    if (entered) return answer
    await hangUp(client)
    return entered === undefined
      ? { is: 'silent', why: say('it does not answer', 'ele não responde') }
      : { is: 'starting', why: say('whoever used it last is stopping it', 'quem o usou por último está parando-o') }
  } catch (error) {
    const trouble = folderTrouble(home.folder, error)
    throw isRetomaError(trouble) ? trouble : await serverTrouble(home, 'answer', (error as Error).message)
  }
}

async function isFolder(path: string): Promise<boolean> {
  return lstat(path).then(
    found => found.isDirectory(),
    () => false,
  )
}
