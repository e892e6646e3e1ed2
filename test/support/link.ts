/** A way to the server that can be cut, as by a network or a restart, and mended again. */
import { createConnection, createServer, type Socket } from 'node:net'
import { join } from 'node:path'
import { onTestFinished } from './together.ts'

export interface Link {
  url: string
  cut(): void
  mend(): void
}

export async function linkTo(url: string): Promise<Link> {
  const { searchParams, port } = new URL(url)
  const open = new Set<Socket>()
  let isCut = false
  const server = createServer(near => {
    open.add(near)
    near.on('error', () => {}).on('close', () => void open.delete(near))
    if (isCut) return void near.destroy()
    const far = createConnection(join(searchParams.get('host')!, `.s.PGSQL.${port}`))
    far.on('error', () => {}).on('close', () => near.destroy())
    near.on('close', () => far.destroy())
    near.pipe(far).pipe(near)
  })
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
  const cut = () => {
    isCut = true
    for (const socket of open) socket.destroy()
  }
  onTestFinished(() => {
    cut()
    server.close()
  })
  const through = new URL(url)
  through.searchParams.delete('host')
  through.host = `127.0.0.1:${(server.address() as { port: number }).port}`
  return {
    url: through.href,
    cut,
    mend() {
      isCut = false
    },
  }
}
