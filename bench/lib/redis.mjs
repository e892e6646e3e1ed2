/** A durable Redis (append only, synced every second), if `redis-server` is on the PATH. */
import { existsSync } from 'node:fs'
import { connect, createServer } from 'node:net'
import { join } from 'node:path'
import { onLeash } from './leash.mjs'

const settings = ['--bind', '127.0.0.1', '--save', '', '--appendonly', 'yes', '--appendfsync', 'everysec']

/** Returns the url, or undefined without `redis-server`. */
export async function startRedis(room) {
  if (!process.env.PATH.split(':').some(path => existsSync(join(path, 'redis-server')))) return undefined
  const port = await freePort()
  const redis = onLeash('redis-server', ['--port', String(port), '--dir', room.folder, ...settings])
  room.atEnd(() => redis.end())
  while (!(await answers(port))) await new Promise(resolve => setTimeout(resolve, 20))
  return `redis://127.0.0.1:${port}`
}

function freePort() {
  return new Promise(resolve => {
    const server = createServer().listen(0, '127.0.0.1', () => {
      const { port } = server.address()
      server.close(() => resolve(port))
    })
  })
}

function answers(port) {
  return new Promise(resolve => {
    const socket = connect(port, '127.0.0.1', () => resolve(true)).on('error', () => resolve(false))
    socket.unref()
  })
}
