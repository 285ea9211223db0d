import type { RpcClient } from '../../src/jsonRpc/client.ts'
import { writeWhole } from '../../src/lib/wholeFile.ts'
import { FORKS } from '../../src/rollup/protocol/index.ts'
import { chainConfig } from '../genesis/l2Genesis.ts'
import { readL1Block } from '../l1/rpc.ts'
import { ChainMaker } from './chain.ts'
import type { Emit } from './events.ts'
import type { L1 } from './l1.ts'
import { readJson } from './readJson.ts'
import type { TestnetSetup } from './setup.ts'

/** The progress of the files that nodes start with. */
export interface ChainFiles {
  genesisWritten: Promise<void>
  /** Resolves when L1 is ready too. */
  complete: Promise<void>
  /** The fork times in genesis.json differ from those of the execution clients, which need another init. */
  initAgain?: boolean
  /** The work that remains after the execution clients have started. */
  finish?: () => Promise<void>
}

export interface ChainOrigin {
  l1: Pick<L1, 'create' | 'deploy' | 'resume'>
  l1Client: RpcClient
  emit: Emit
  reached: (milestone: string) => void
}

type ChainSetup = Pick<TestnetSetup, 'layout' | 'chain'>

export function makeChain(
  { l1, reached }: ChainOrigin,
  { layout, chain }: ChainSetup,
  signal: AbortSignal,
): ChainFiles {
  const maker = new ChainMaker(layout, chain)
  const created = l1.create(maker, signal)
  const genesis = maker.writeGenesis()
  genesis.then(
    () => reached('genesis'),
    () => {},
  )
  // The genesis comes first because all nodes wait for it. L1 is needed only when rollup nodes start.
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

/** Resumes the kept chain, with the forks added to it. */
export function resumeChain(origin: ChainOrigin, { layout, chain }: ChainSetup, signal: AbortSignal): ChainFiles {
  const { genesis, rollupConfig } = layout
  const config = readJson(rollupConfig)
  const isComplete = FORKS.every((fork) => config[`${fork}_time`] === chain.forks[fork])
  if (isComplete) return { genesisWritten: Promise.resolve(), complete: resumeL1(origin, signal) }
  // The genesis block does not change.
  const withForks = { ...readJson(genesis), config: chainConfig(chain) }
  const times = Object.fromEntries(FORKS.map((fork) => [`${fork}_time`, chain.forks[fork]]))
  return {
    genesisWritten: writeWhole(genesis, JSON.stringify(withForks)),
    complete: resumeL1(origin, signal),
    initAgain: true,
    // Written last, because it tells whether the forks are written.
    finish: () => writeWhole(rollupConfig, `${JSON.stringify({ ...config, ...times }, null, 2)}\n`),
  }
}

async function resumeL1({ l1, l1Client, emit, reached }: ChainOrigin, signal: AbortSignal): Promise<void> {
  await l1.resume(signal)
  const { number, timestamp } = await readL1Block(l1Client)
  const pauseSeconds = Math.max(0, Math.floor(Date.now() / 1000) - timestamp)
  reached('l1')
  emit({ event: 'resumed', l1Block: number, pauseSeconds })
}
