/**
 * Registers the loader of TypeScript modules in a Node process: `node --import retoma/register --test hello.test.ts`. Node 20 runs no
 * TypeScript. A package manager that lets a folder see only its direct dependencies hides jiti, but not this file.
 */
import 'jiti/register'
