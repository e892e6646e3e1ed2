/** Memory of many processes together: PSS from /proc, where a page that n processes share counts as 1/n for each. Linux. */
import { readFileSync } from 'node:fs'

/** Rows of { name, count, bytes }, the largest first. */
export function pssOf(pids) {
  const rows = new Map()
  for (const pid of pids) {
    const name = nameOf(pid)
    const row = rows.get(name) ?? { name, count: 0, bytes: 0 }
    row.count++
    row.bytes += Number(/^Pss:\s+(\d+) kB$/m.exec(readFileSync(`/proc/${pid}/smaps_rollup`, 'utf8'))[1]) * 1024
    rows.set(name, row)
  }
  return [...rows.values()].sort((a, b) => b.bytes - a.bytes)
}

/** A PostgreSQL process is named by the process title, any other process by program and script. */
function nameOf(pid) {
  const command = readFileSync(`/proc/${pid}/cmdline`, 'utf8').split('\0').filter(Boolean)
  const title = command.join(' ')
  if (title.startsWith('postgres: '))
    return title
      .split(' ')
      .slice(0, 3)
      .join(' ')
      .replace(/ \S+$/, word => (/[a-z]/.test(word) ? word : ''))
  return command
    .slice(0, 2)
    .map(word => word.split('/').at(-1))
    .join(' ')
}
