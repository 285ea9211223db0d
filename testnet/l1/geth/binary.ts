import { execFile } from 'node:child_process'
import { statSync } from 'node:fs'
import { promisify } from 'node:util'
import { z } from 'zod'
import { isErrno, UsageError } from '../../../src/lib/errors.ts'
import type { Hex } from '../../../src/lib/hex.ts'

/** The first version with the complete Engine API of Amsterdam. */
const OLDEST_VERSION = [1, 17, 10] as const
/** op-geth's minor versions start here. */
const OP_GETH_MINOR = 100_000
const TIMEOUT_MS = 30_000
const NOT_GETH = 'the program is not go-ethereum'

const genesisSchema = z.object({
  alloc: z.record(z.string().regex(/^[0-9a-f]{40}$/), z.object({ code: z.string().optional() })),
})

const run = promisify(execFile)

/** Throws UsageError unless the path holds a go-ethereum that is new enough. */
export async function checkGeth(path: string): Promise<void> {
  const refuse = (why: string, cause?: unknown) => new UsageError(`--l1-client geth=${path}: ${why}`, { cause })
  const stat = statSync(path, { throwIfNoEntry: false })
  if (stat === undefined) throw refuse('there is no such file')
  if (!stat.isFile()) throw refuse('that is not a file')
  const output = await run(path, ['version'], { timeout: TIMEOUT_MS }).catch((cause: unknown) => {
    throw refuse(isErrno(cause, 'EACCES') ? 'the file is not executable' : NOT_GETH, cause)
  })
  const why = whyNotUsable(output.stdout)
  if (why !== undefined) throw refuse(why)
}

/** Checks the output of `geth version`. Returns undefined if the version is usable. */
export function whyNotUsable(versionText: string): string | undefined {
  const [, ...digits] = /^Version: (\d+)\.(\d+)\.(\d+)/m.exec(versionText) ?? []
  if (!/^Geth$/m.test(versionText) || digits.length === 0) return NOT_GETH
  const version = digits.map(Number)
  if ((version[1] ?? 0) >= OP_GETH_MINOR) return 'the program is op-geth, which cannot be an L1'
  const place = OLDEST_VERSION.findIndex((oldest, index) => version[index] !== oldest)
  if (place < 0 || (version[place] ?? 0) > (OLDEST_VERSION[place] ?? 0)) return undefined
  return `version ${version.join('.')} is too old, the oldest that will do is ${OLDEST_VERSION.join('.')}`
}

/**
 * The system contracts by address, as this version has them in its development genesis. Amsterdam's may still change, and blocks
 * are invalid without the right ones.
 */
export async function readSystemContracts(path: string): Promise<Map<Hex, string>> {
  const { stdout } = await run(path, ['--dev', 'dumpgenesis'], { timeout: TIMEOUT_MS, maxBuffer: 1 << 24 })
  const { alloc } = genesisSchema.parse(JSON.parse(stdout))
  return new Map(
    Object.entries(alloc).flatMap(([address, { code }]): [Hex, string][] =>
      code === undefined ? [] : [[`0x${address}`, code]],
    ),
  )
}
