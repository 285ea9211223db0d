import { closeSync, existsSync, openSync, readSync, renameSync } from 'node:fs'
import { createRequire } from 'node:module'
import { dirname, join } from 'node:path'
import type { RpcClient } from '../../src/jsonRpc/client.ts'
import { UsageError } from '../../src/lib/errors.ts'
import { describeFileError } from '../../src/lib/fileErrors.ts'
import { fromHex, type Hex } from '../../src/lib/hex.ts'
import { versionedHashOf } from '../../src/lib/kzg/index.ts'
import type { ChainParameters } from '../chainParameters.ts'
import { slotsInAnEpoch } from './consensus/slots.ts'

/**
 * Path of Anvil's binary. The npm package's command is a Node wrapper, so the binary is found in the package of this platform.
 */
export function findAnvil(): string {
  const platform = process.platform === 'win32' ? 'win32' : process.platform
  const arch = process.arch === 'x64' ? 'amd64' : process.arch
  const require = createRequire(import.meta.url)
  try {
    const wrapper = createRequire(require.resolve('@foundry-rs/anvil/package.json'))
    const directory = dirname(wrapper.resolve(`@foundry-rs/anvil-${platform}-${arch}/package.json`))
    return join(directory, 'bin', process.platform === 'win32' ? 'anvil.exe' : 'anvil')
  } catch (cause) {
    throw new UsageError(
      `Anvil for ${platform}-${arch} is not installed: run npm ci, or beside an installed devium npm install @foundry-rs/anvil`,
      { cause },
    )
  }
}

export interface AnvilOptions {
  host: string
  port: number
  chain: Pick<ChainParameters, 'l1ChainId' | 'l1BlockTime' | 'genesisTime'>
  /** The state file that Anvil writes at its end and periodically. */
  dumpTo: string
  /** Directory for states that Anvil moves out of memory. */
  cacheDir: string
  /** The state file of a kept chain. Absent: a new chain, which mines only on request. */
  loadFrom?: string
}

/** Time from the end of a write of the state to the next write. */
const STATE_INTERVAL_SECONDS = 10
/** Enough for the whole deployment in one block. */
const DEPLOYMENT_GAS_LIMIT = 100_000_000

/** The newest fork whose header every rollup node of Holocene's time decodes. */
export const L1_HARDFORK = 'cancun'

export function anvilArguments({ host, port, chain, dumpTo, cacheDir, loadFrom }: AnvilOptions): string[] {
  return [
    '--quiet',
    ...['--host', host],
    ...['--port', String(port)],
    ...['--chain-id', String(chain.l1ChainId)],
    ...['--hardfork', L1_HARDFORK],
    ...['--slots-in-an-epoch', String(slotsInAnEpoch(chain.l1BlockTime))],
    ...['--dump-state', dumpTo],
    ...['--state-interval', String(STATE_INTERVAL_SECONDS)],
    ...['--cache-path', cacheDir],
    ...(loadFrom === undefined
      ? [
          '--no-mining',
          ...['--gas-limit', String(DEPLOYMENT_GAS_LIMIT)],
          // Block 0 comes one slot before block 1, whose time is the rollup's genesis time.
          ...['--timestamp', String(chain.genesisTime - chain.l1BlockTime)],
        ]
      : // No --timestamp, which would set back the clock of the next blocks.
        [...['--load-state', loadFrom], ...['--block-time', String(chain.l1BlockTime)]]),
  ]
}

/**
 * Moves the newest complete state into place and returns whether a state exists. Anvil writes to a different file than it reads,
 * so an incomplete write never damages the chain. An incomplete state is kept aside, because Anvil may still be writing it. Throws
 * UsageError if the file cannot be read or moved.
 */
export function takeNewestState(newest: string, state: string): boolean {
  try {
    if (existsSync(newest)) renameSync(newest, isComplete(newest) ? state : `${newest}.incomplete`)
  } catch (cause) {
    throw new UsageError(`cannot use ${newest}: ${describeFileError(cause)}`, { cause })
  }
  return existsSync(state)
}

const [QUOTE, BACKSLASH, OPEN, CLOSE] = Buffer.from('"\\{}')

/**
 * Whether the file's first brace is closed, which only the last byte of a JSON object does. Reads bytes, because a state may be
 * longer than V8's longest string.
 */
function isComplete(path: string): boolean {
  const file = openSync(path, 'r')
  try {
    const chunk = Buffer.alloc(1024 * 1024)
    let depth = 0
    let inText = false
    let isEscaped = false
    for (let length = readSync(file, chunk); length > 0; length = readSync(file, chunk)) {
      for (const byte of chunk.subarray(0, length)) {
        // A part that did not reach the disk before the machine crashed.
        if (byte === 0) return false
        if (byte === QUOTE && !isEscaped) inText = !inText
        isEscaped = byte === BACKSLASH && !isEscaped
        if (inText) continue
        if (byte === OPEN) depth++
        if (byte === CLOSE && --depth === 0) return true
      }
    }
    return false
  } finally {
    closeSync(file)
  }
}

/** Four seconds of processor time in trials, and much longer on an overloaded machine. */
const TRUSTED_SETUP_TIMEOUT_MS = 120_000
/** The compressed G1 point at infinity. */
const INFINITY: Hex = `0xc0${'00'.repeat(47)}`
/** Precompile of EIP-4844 that verifies a KZG proof. */
const POINT_EVALUATION = '0x000000000000000000000000000000000000000a'
/** Versioned hash ‖ z ‖ y ‖ commitment ‖ proof of the zero polynomial. Both points are the point at infinity. */
const ZERO_PROOF: Hex = `${versionedHashOf(fromHex(INFINITY))}${'00'.repeat(64)}${INFINITY.slice(2).repeat(2)}`

/**
 * Makes Anvil load KZG's trusted setup now. Otherwise Anvil loads it at the first blob transactions, in its few RPC threads: two
 * such transactions stop all answers for seconds.
 */
export async function loadTrustedSetup(l1: RpcClient, signal: AbortSignal): Promise<void> {
  await l1.request('eth_call', [{ to: POINT_EVALUATION, data: ZERO_PROOF }, 'latest'], {
    signal,
    timeoutMs: TRUSTED_SETUP_TIMEOUT_MS,
  })
}
