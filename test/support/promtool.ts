/** Prometheus's own checker, from PROMTOOL or the PATH; undefined where there is none, and tests that want it are skipped by name. */
import { spawnSync } from 'node:child_process'

const asked = process.env.PROMTOOL ?? 'promtool'

export const promtool: string | undefined = spawnSync(asked, ['--version']).status === 0 ? asked : undefined
