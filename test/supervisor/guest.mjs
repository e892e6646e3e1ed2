/** A supervised process of the built program that works: its jobs end it, each in its own way and only the first time. */
import { existsSync, writeFileSync } from 'node:fs'
import net from 'node:net'
import { setTimeout as nap } from 'node:timers/promises'
import { createEngine, defineJob } from '../../dist/index.js'
import { writeStatusFile } from '../../dist/supervisor/status-files.js'
import { Supervision } from '../../dist/supervisor/supervision.js'

const [url = '', marker = ''] = process.argv.slice(2)
const never = () => new Promise(() => {})

const ways = {
  async exit() {
    await nap(1)
    process.exit(3)
  },
  async 'exit in the middle'() {
    await nap(1)
    await new Promise(() => queueMicrotask(() => process.exit(0)))
  },
  'exit at once': async () => process.exit(4),
  async timer() {
    setTimeout(() => {
      throw new TypeError('boom')
    }, 1)
    await never()
  },
  async tick() {
    await nap(1)
    process.nextTick(() => {
      throw new TypeError('boom')
    })
    await never()
  },
  async socket() {
    net.connect({ path: '/nowhere' })
    await never()
  },
  async rejection() {
    await nap(1)
    void (async () => {
      await nap(1)
      throw new TypeError('boom')
    })()
    await never()
  },
  async number() {
    await nap(1)
    void Promise.reject(7)
    await never()
  },
  async abort() {
    await nap(1)
    process.abort()
  },
  async 'start me again'() {
    await nap(1)
    process.exit(75)
  },
  async handled() {
    process.once('uncaughtException', () => process.kill(process.pid, 'SIGSEGV'))
    setTimeout(() => {
      throw new TypeError('boom')
    }, 1)
    await never()
  },
}

const way = defineJob({
  kind: 'way',
  run(_, name) {
    if (existsSync(marker)) return 'survived'
    writeFileSync(marker, '')
    return ways[name]()
  },
})
const bystander = defineJob({
  kind: 'bystander',
  run: ctx => (ctx.attempt > 1 ? 'survived' : never()),
})

const engine = await createEngine({ databaseUrl: url, jobs: [way, bystander] })
await engine.work()
const { reportFolder } = new Supervision()
writeStatusFile(reportFolder, 'ready')
process.once('SIGTERM', () => {
  writeStatusFile(reportFolder, 'asked')
  void engine.close().then(() => process.exit(0))
})
