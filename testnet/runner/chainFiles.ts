import type { RpcClient } from '../../src/jsonRpc/client.ts'
import { latestBlock } from '../l1/rpc.ts'
import { ChainMaker, ForkWriter } from './chain.ts'
import type { Emit } from './events.ts'
import type { L1 } from './l1.ts'
import { writeManifest } from './manifest.ts'
import type { TestnetSetup } from './setup.ts'

/** The files that nodes start with. */
export interface ChainFiles {
  genesisWritten: Promise<void>
  /** L1 is there as well. */
  complete: Promise<void>
  /** The fork times in genesis.json are not those that the execution clients know. */
  initAgain?: boolean
  /** What is left to do once the execution clients have started. */
  finish?: () => Promise<void>
}

export interface ChainOrigin {
  l1: L1
  l1Client: RpcClient
  emit: Emit
  reached: (milestone: string) => void
}

type ChainSetup = Pick<TestnetSetup, 'layout' | 'chain'>

/** A new chain, and the L1 that it begins on. */
export function makeChain(
  { l1, reached }: ChainOrigin,
  { layout, chain }: ChainSetup,
  signal: AbortSignal,
): ChainFiles {
  writeManifest(layout, { version: 1, chain, complete: false })
  const maker = new ChainMaker(layout, chain)
  const created = l1.create(maker, signal)
  const genesis = maker.writeGenesis()
  genesis.then(
    () => reached('genesis'),
    () => {},
  )
  // The genesis comes first: all nodes wait for it, while L1 is needed only when rollup nodes start.
  const deployment = Promise.all([genesis, created]).then(() => l1.deploy(maker, signal))
  deployment.then(
    () => reached('l1 contracts'),
    () => {},
  )
  return {
    genesisWritten: genesis.then(() => {}),
    complete: Promise.all([genesis, deployment]).then(([hash, block]) => maker.writeRollupConfig(block, hash)),
  }
}

/** The chain that the directory holds, with forks that were added to it. */
export async function resumeChain(
  origin: ChainOrigin,
  { layout, chain }: ChainSetup,
  signal: AbortSignal,
): Promise<ChainFiles> {
  // The manifest first: forks whose adding is cut short after it are added by the next start.
  writeManifest(layout, { version: 1, chain, complete: true })
  const complete = resumeL1(origin, signal)
  const forks = new ForkWriter(layout, chain)
  if (!(await forks.isNeeded())) return { genesisWritten: Promise.resolve(), complete }
  return { genesisWritten: forks.writeGenesis(), complete, initAgain: true, finish: () => forks.writeRollupConfig() }
}

async function resumeL1({ l1, l1Client, emit, reached }: ChainOrigin, signal: AbortSignal): Promise<void> {
  await l1.resume(signal)
  const { number, timestamp } = await latestBlock(l1Client)
  const pauseSeconds = Math.max(0, Math.floor(Date.now() / 1000) - timestamp)
  reached('l1')
  emit({ event: 'resumed', l1Block: number, pauseSeconds })
}
