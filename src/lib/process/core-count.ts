/**
 * Counts the cores that this process may use: the cores of the machine, or fewer if a CPU quota of a container or of a service allows
 * fewer. `availableParallelism` of Node 20 does not know the quotas; newer versions of Node do.
 */
import { readFileSync } from 'node:fs'
import { availableParallelism } from 'node:os'

type ReadText = (file: string) => string | undefined

/** At least 1. A part of a core does not count, as in newer versions of Node. */
export function coreCount(cores = availableParallelism(), textOf: ReadText = readText): number {
  const groups = textOf('/proc/self/cgroup') ?? ''
  return Math.max(1, Math.floor(Math.min(cores, ...quotasIn(groups, textOf))))
}

/** The quotas of the control group of this process and of the groups above, in cores. */
function quotasIn(groups: string, textOf: ReadText): number[] {
  const second = /^0::(\/.*)$/m.exec(groups)?.[1] ?? '/'
  const [, names = 'cpu', first = '/'] = /^\d+:((?:\w+,)*cpu(?:,\w+)*):(\/.*)$/m.exec(groups) ?? []
  const quotas = [
    ...pathsUp('/sys/fs/cgroup', second).map(folder => quotaOf(...words(textOf(`${folder}/cpu.max`)))),
    ...[...new Set([names, 'cpu'])]
      .flatMap(name => pathsUp(`/sys/fs/cgroup/${name}`, first))
      .map(folder => quotaOf(textOf(`${folder}/cpu.cfs_quota_us`), textOf(`${folder}/cpu.cfs_period_us`))),
  ]
  return quotas.filter(quota => quota !== undefined)
}

/**
 * The folder of the group and every folder above. Inside a container the group name may be a name of the host, whose folder does not exist;
 * the top folder is then the group of the container.
 */
function pathsUp(top: string, group: string): string[] {
  const parts = group.split('/').filter(part => part !== '')
  return [...parts.map((_, index) => [top, ...parts.slice(0, parts.length - index)].join('/')), top]
}

const words = (text: string | undefined): string[] => text?.trim().split(' ') ?? []

/** Undefined without a quota, which is `max` in version 2 and -1 in version 1. */
function quotaOf(quota?: string, period?: string): number | undefined {
  const cores = Number(quota) / Number(period)
  return cores > 0 && Number.isFinite(cores) ? cores : undefined
}

function readText(file: string): string | undefined {
  try {
    return readFileSync(file, 'latin1')
  } catch {
    return undefined
  }
}
