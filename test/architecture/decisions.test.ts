/** Each decision in docs/adr/ has a number of its own, which its title repeats: two branches may take the same next number. */
import { readdirSync, readFileSync } from 'node:fs'
import { expect, test } from 'vitest'

const folder = new URL('../../docs/adr/', import.meta.url)

interface Page {
  name: string
  title: string
}

function problems(pages: readonly Page[]): string[] {
  const numberOf = ({ name }: Page) => /^(\d{4})-/.exec(name)?.[1]
  return pages.flatMap(page => {
    const { name, title } = page
    const number = numberOf(page)
    if (number === undefined) return [`${name} does not begin with a number of four digits`]
    const others = pages.filter(each => each !== page && numberOf(each) === number).map(each => each.name)
    return [
      ...others.map(other => `${name} has the number of ${other}`),
      ...(title.startsWith(`# ${Number(number)}. `) ? [] : [`the title of ${name} does not begin with its number`]),
    ]
  })
}

test('every decision has a number of its own, in its file name and in its title', () => {
  const names = readdirSync(folder).filter(name => name !== 'README.md')
  expect(names.length).toBeGreaterThan(50)
  const pages = names.map(name => ({ name, title: readFileSync(new URL(name, folder), 'utf8').split('\n')[0]! }))
  expect(problems(pages)).toEqual([])
})

test('two decisions with one number are refused, and so is a title with another number', () => {
  expect(
    problems([
      { name: '0007-a.md', title: '# 7. A' },
      { name: '0007-b.md', title: '# 7. B' },
      { name: '0008-c.md', title: '# 9. C' },
      { name: 'd.md', title: '# 10. D' },
    ]),
  ).toEqual([
    '0007-a.md has the number of 0007-b.md',
    '0007-b.md has the number of 0007-a.md',
    'the title of 0008-c.md does not begin with its number',
    'd.md does not begin with a number of four digits',
  ])
})
