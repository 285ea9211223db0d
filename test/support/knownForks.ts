import { execFileSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { TESTNET_FORKS, type TestnetFork } from '../../testnet/forks.ts'

/** op-geth lists Karst among its flags, but no version implements it. */
const NEWEST_OF_OP_GETH: TestnetFork = 'jovian'
/** The fork after this one needs a dependency set, which tests do not give op-node. */
const NEWEST_OF_OP_NODE: TestnetFork = 'karst'
/** An op-node of early 2026 lists Karst, but does not make its blocks: it has no such method. */
const KARST_METHOD = 'engine_getPayloadV5'

interface Clients {
  opNode?: string
  opGeth?: string
  /** Upper limit of the result. */
  limit?: TestnetFork
}

/** The latest fork that all these op-nodes and op-geths support, by the overrides in their help. */
export function newestForkKnownTo({ opNode, opGeth, limit }: Clients): TestnetFork {
  const newest = [opNode, opGeth].map((binary) => {
    if (binary === undefined) return TESTNET_FORKS.length - 1
    const help = execFileSync(binary, ['--help'], { encoding: 'utf8' })
    return TESTNET_FORKS.findLastIndex((fork) => help.includes(`--override.${fork} `))
  })
  if (opNode !== undefined) {
    newest.push(TESTNET_FORKS.indexOf(readFileSync(opNode).includes(KARST_METHOD) ? NEWEST_OF_OP_NODE : 'jovian'))
  }
  if (opGeth !== undefined) newest.push(TESTNET_FORKS.indexOf(NEWEST_OF_OP_GETH))
  if (limit !== undefined) newest.push(TESTNET_FORKS.indexOf(limit))
  const fork = TESTNET_FORKS[Math.min(...newest)]
  if (fork === undefined) throw new Error(`${[opNode, opGeth].join(' and ')} know no fork of the testnet`)
  return fork
}
