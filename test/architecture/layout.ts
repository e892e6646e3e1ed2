/**
 * Rules about the tree as a whole: parts that import each other, folders that are too large, and file names that are used twice.
 */
import { posix } from 'node:path'
import { partOf } from './rules.ts'
import { readSource } from './source.ts'

/** Above this number of source files a folder is hard to read. */
const mostFiles = 21

/** One sentence for each fault of the tree. `files`: path from the top of the repository to its text. */
export function brokenLayout(files: Map<string, string>): string[] {
  const ours = new Map([...files].filter(([path]) => path.startsWith('src/')))
  return [...twoWayImports(ours), ...importCircles(ours), ...largeFolders(ours), ...namesakes(ours)]
}

interface Edge {
  from: string
  to: string
  typeOnly: boolean
  example: string
}

function edgesOf(files: Map<string, string>): Edge[] {
  return [...files].flatMap(([path, text]) =>
    readSource(text)
      .imports.filter(({ from }) => from.startsWith('.'))
      .map(({ from, typeOnly }) => {
        const target = posix.join(posix.dirname(path), from)
        return { from: partOf(path), to: partOf(target), typeOnly, example: `${path} imports ${target}` }
      })
      .filter(({ from, to }) => from !== to),
  )
}

/** Types count as well: whoever reads one part would have to read the other. */
function twoWayImports(files: Map<string, string>): string[] {
  const edges = edgesOf(files)
  const between = new Map(edges.map(edge => [`${edge.from} ${edge.to}`, edge]))
  return [...between.values()].flatMap(edge => {
    const back = between.get(`${edge.to} ${edge.from}`)
    if (back === undefined || edge.from > edge.to) return []
    return [`${edge.from} and ${edge.to} import each other: ${edge.example}, ${back.example}`]
  })
}

/** Longer ways round, by what is left after compiling. */
function importCircles(files: Map<string, string>): string[] {
  const targets = new Map<string, Set<string>>()
  for (const { from, to, typeOnly } of edgesOf(files))
    if (!typeOnly) targets.set(from, (targets.get(from) ?? new Set()).add(to))
  const done = new Set<string>()
  const circles: string[] = []
  const visit = (part: string, way: readonly string[]) => {
    const at = way.indexOf(part)
    if (at !== -1) {
      if (way.length - at > 2)
        circles.push(`parts import each other in a circle: ${[...way.slice(at), part].join(' → ')}`)
      return
    }
    if (done.has(part)) return
    for (const next of targets.get(part) ?? []) visit(next, [...way, part])
    done.add(part)
  }
  for (const part of targets.keys()) visit(part, [])
  return circles
}

function largeFolders(files: Map<string, string>): string[] {
  const counts = new Map<string, number>()
  for (const path of files.keys()) counts.set(posix.dirname(path), (counts.get(posix.dirname(path)) ?? 0) + 1)
  return [...counts].flatMap(([folder, count]) =>
    count > mostFiles ? [`${folder} has ${count} source files; ${mostFiles} is the most`] : [],
  )
}

/** Named after a resource or a command, which is often the name of its capability. */
const namedAfterOthers = /^src\/(?:http\/routes|cli\/commands)\//

/** Two files with the same name must be layers of one capability. */
function namesakes(files: Map<string, string>): string[] {
  const byName = new Map<string, string[]>()
  for (const path of files.keys()) {
    const name = posix.basename(path)
    if (name === 'index.ts' || namedAfterOthers.test(path)) continue
    byName.set(name, [...(byName.get(name) ?? []), path])
  }
  return [...byName].flatMap(([name, paths]) =>
    new Set(paths.map(path => path.split('/')[1])).size > 1
      ? [`${name} is the name of several files: ${paths.join(', ')}`]
      : [],
  )
}
