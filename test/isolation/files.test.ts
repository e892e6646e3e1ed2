/** A handler reads the engine's files wherever it runs, and a copy on disk is there for as long as its attempt. */
import { existsSync } from 'node:fs'
import { mkdir, mkdtemp, readdir, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { LocalFileCopies, removeLeftoverCopies } from '../../src/files/local-file-copies.ts'
import { defineJob, type Isolation } from '../../src/index.ts'
import { gate, until } from '../support/engine.ts'
import { jobIn } from './jobs.ts'
import { workingOn } from './support.ts'

const pdf = { name: 'nota fiscal.pdf', type: 'application/pdf' }

function* bytes(size: number): Generator<Uint8Array> {
  for (let from = 0; from < size; from += 60_000)
    yield Uint8Array.from({ length: Math.min(60_000, size - from) }, (_, i) => (from + i * 7) & 255)
}

test.each<Isolation>(['inline', 'thread', 'process'])(
  '%s: it comes in pieces and as a path that nobody else can read, which is gone when the attempt has ended',
  async place => {
    const job = jobIn(place)
    const { ends, engine } = await workingOn(job)
    const { id, sha256 } = await engine.files.put(bytes(2_500_000), pdf)
    const { result, ...ended } = await ends(job, { do: 'file', note: id })
    expect({ ...ended, result }).toMatchObject({
      state: 'succeeded',
      result: { name: pdf.name, read: sha256, copy: sha256, mode: '600', same: true },
    })
    const { path } = result as { path: string }
    expect(path).toMatch(/\.pdf$/)
    await until(() => !existsSync(dirname(path)))
    expect(await ends(job, { do: 'file', note: '0' })).toMatchObject({ result: { file: null, path: null } })
  },
)

test('a copy is gone with a child that died in the middle, and the next attempt has its own', async () => {
  const job = jobIn('process')
  const { ends, engine } = await workingOn(job)
  const { id, sha256 } = await engine.files.put(bytes(10), pdf)
  const ended = await ends(job, { do: 'file', note: `${id} die` })
  expect(ended).toMatchObject({ state: 'succeeded', attempt: 2, result: { copy: sha256 } })
  await until(() => !existsSync(dirname((ended.result as { path: string }).path)))
})

test('a copy that nobody waits for is not left when the attempt ends first, and none begins afterwards', async () => {
  const late: Promise<unknown>[] = []
  const again = gate()
  const job = defineJob<string>({
    kind: 'hasty',
    async run(ctx, id) {
      const { path } = ctx.files
      late.push(
        path(id),
        again.passed.then(() => path(id)),
      )
    },
  })
  const { engine } = await workingOn(job)
  const before = await copiesOf(process.pid)
  const { id } = await engine.files.put(bytes(2_500_000), pdf)
  await engine.wait({ job: (await engine.enqueue(job, id)).id })
  again.open()
  const [, after] = await Promise.allSettled(late)
  expect(after).toMatchObject({ reason: { code: 'attempt_over' } })
  await until(async () => (await copiesOf(process.pid)).length === before.length)
})

test('one that fails while nobody waits for it does not end the process', async () => {
  const unheard: unknown[] = []
  const hear = (error: unknown) => void unheard.push(error)
  process.on('unhandledRejection', hear)
  onTestFinished(() => void process.off('unhandledRejection', hear))
  let failing: Promise<unknown> | undefined
  const enough = gate()
  const job = defineJob<string>({
    kind: 'careless',
    async run(ctx, id) {
      failing = ctx.files.path(id)
      await enough.passed
    },
  })
  const { engine } = await workingOn(job)
  const { id } = await engine.files.put(bytes(10), pdf)
  await engine.query('delete from retoma.file_chunk where file_id = $1', [id])
  const { id: asked } = await engine.enqueue(job, id)
  // Long enough for it to fail, and to be missed.
  await until(() => failing !== undefined)
  await new Promise(resolve => setTimeout(resolve, 500))
  enough.open()
  await engine.wait({ job: asked })
  expect(unheard).toEqual([])
  await expect(failing).rejects.toMatchObject({ code: 'file_gone' })
})

/** What is in the folders of that process. */
async function copiesOf(pid: number): Promise<string[]> {
  const folders = (await readdir(tmpdir())).filter(name => name.startsWith(`retoma-files-${pid}-`))
  return (await Promise.all(folders.map(name => readdir(join(tmpdir(), name)).catch(() => [])))).flat()
}

test('a worker that has stopped leaves no folder', async () => {
  const job = jobIn('inline')
  const { ends, engine, worker } = await workingOn(job)
  const { id } = await engine.files.put(bytes(10), pdf)
  const { path } = (await ends(job, { do: 'file', note: id })).result as { path: string }
  await worker.stop()
  expect(existsSync(dirname(dirname(path)))).toBe(false)
})

test('what a killed process has left is taken away by the next worker; what belongs to one that lives is not', async () => {
  const place = await mkdtemp(join(tmpdir(), 'retoma-test-'))
  onTestFinished(() => rm(place, { recursive: true }))
  const dead = ['retoma-files-999999999-1-a', `retoma-files-${process.pid}-1-b`]
  const others = [`retoma-files-${process.ppid}-1-c`, 'retoma-files-x', 'somebody']
  for (const name of [...dead, ...others]) await mkdir(join(place, name))
  await writeFile(join(place, dead[0]!, 'left.pdf'), 'x')
  const fileCopies = new LocalFileCopies(place)
  const file = { id: '1', ...pdf, size: 1, sha256: '', createdAt: new Date(), bytes: bytesOf('x') }
  const path = await fileCopies.copy('1/1', file)
  expect(await removeLeftoverCopies(place)).toBe(2)
  expect(existsSync(path)).toBe(true)
  await fileCopies.drop('1/1')
  await fileCopies.close()
  expect((await readdir(place)).sort()).toEqual([...others].sort())
})

test('one that cannot be written whole is not left in half, and may be asked for again', async () => {
  const place = await mkdtemp(join(tmpdir(), 'retoma-test-'))
  onTestFinished(() => rm(place, { recursive: true }))
  const fileCopies = new LocalFileCopies(place)
  const file = { id: '1', ...pdf, size: 1, sha256: '', createdAt: new Date() }
  async function* broken() {
    yield Buffer.from('x')
    throw new Error('gone')
  }
  await expect(fileCopies.copy('1/1', { ...file, bytes: broken() })).rejects.toThrow('gone')
  expect(existsSync(await fileCopies.copy('1/1', { ...file, bytes: bytesOf('x') }))).toBe(true)
})

async function* bytesOf(text: string) {
  yield Buffer.from(text)
}
