/**
 * Builds the dashboard from web/ with Vite, and compresses each file for the server (src/http/dashboard/). A stamp in the folder names the
 * sources of the build.
 */
import { createHash } from 'node:crypto'
import { readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { brotliCompressSync, constants, gzipSync } from 'node:zlib'
import { run } from './children.mjs'
import { inRoot } from './paths.mjs'
import { Trouble } from './trouble.mjs'

export function isWebBuilt(folder) {
  try {
    return readFileSync(join(folder, '.stamp'), 'utf8') === sourceHash()
  } catch (error) {
    if (error.code === 'ENOENT') return false
    throw error
  }
}

export async function buildWeb({ into, started }) {
  // The hash is taken before the build: a source changed during the build makes the next start build again.
  const hash = sourceHash()
  const vite = inRoot('node_modules', 'vite', 'bin', 'vite.js')
  const args = [vite, 'build', '--outDir', into, '--emptyOutDir', '--logLevel', 'warn']
  const { ok, how, output } = await run(process.execPath, args, { cwd: inRoot('web'), started })
  if (!ok) {
    rmSync(into, { recursive: true, force: true })
    throw new Trouble(`${output}\nbuilding the dashboard failed (vite, ${how}); dist/ was left as it was`)
  }
  for (const name of readdirSync(into, { recursive: true })) compress(join(into, name))
  writeFileSync(join(into, '.stamp'), hash)
}

const compressible = /\.(?:js|css|svg)$/

function compress(file) {
  if (!compressible.test(file) || statSync(file).size < 1024) return
  const bytes = readFileSync(file)
  writeFileSync(`${file}.gz`, gzipSync(bytes, { level: 9 }))
  writeFileSync(`${file}.br`, brotliCompressSync(bytes, { params: { [constants.BROTLI_PARAM_QUALITY]: 11 } }))
}

function sourceHash() {
  const hash = createHash('sha256')
  for (const file of ['scripts/lib/web-build.mjs', ...filesIn('web')]) {
    hash
      .update(`${file}\0`)
      .update(readFileSync(inRoot(file)))
      .update('\0')
  }
  return hash.digest('hex')
}

function filesIn(folder) {
  return readdirSync(inRoot(folder), { withFileTypes: true })
    .sort((a, b) => (a.name < b.name ? -1 : 1))
    .flatMap(entry => {
      const path = `${folder}/${entry.name}`
      if (entry.isDirectory()) return entry.name === 'node_modules' ? [] : filesIn(path)
      return /\.(md|test\.tsx?)$/.test(entry.name) ? [] : [path]
    })
}
