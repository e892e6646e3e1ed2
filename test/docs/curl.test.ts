/** What the READMEs have the reader type at a server is answered, in the order it stands there. */
import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { defineJob } from '../../src/index.ts'
import { doorWith } from '../http/support.ts'

const hello = defineJob({ kind: 'hello', run: (_, { name }: { name: string }) => `Hello, ${name}` })

/** A curl of the pages: -d, -H, -N and an address. */
function requestOf(line: string, id: string): Request {
  const words = [...line.matchAll(/'([^']*)'|(\S+)/g)].map(([, quoted, bare]) => quoted ?? bare!)
  const after = (option: string) => words.flatMap((word, i) => (words[i - 1] === option ? [word] : []))
  const [body] = after('-d')
  const headers = new Headers(after('-H').map(each => each.split(': ', 2) as [string, string]))
  const address = words.find(word => word.startsWith('http'))!.replace('/42/', `/${id}/`)
  return new Request(address, { headers, ...(body === undefined ? {} : { method: 'POST', body }) })
}

test.each(['README.md', 'README.pt-BR.md'])('every curl in %s is answered', async page => {
  const text = readFileSync(new URL(`../../${page}`, import.meta.url), 'utf8')
  const lines = text.match(/^curl .*$/gm) ?? []
  expect(lines.length).toBeGreaterThanOrEqual(4)
  const { fetch, run } = await doorWith([hello])
  let id = ''
  for (const line of lines) {
    const response = await fetch(requestOf(line.replace(/ +#.*/, ''), id))
    expect(response.status, line).toBeLessThan(300)
    if (!line.startsWith('curl -N')) id ||= ((await response.json()) as { id: string }).id
    else await response.body?.cancel()
    await run()
  }
})
