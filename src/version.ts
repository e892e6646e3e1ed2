/** The version of this package. */
import { packageVersion } from './lib/package-root.ts'

export const version: string = packageVersion
