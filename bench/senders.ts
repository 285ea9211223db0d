import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { BuiltBlock } from '../src/execution/chain/building.ts'
import type { Chain } from '../src/execution/chain/types.ts'
import { createSenderRecovery, initChain, openChain } from '../src/execution/index.ts'
import type { SenderRecovery } from '../src/execution/senders/senderRecovery.ts'
import { systemClock } from '../src/lib/clock.ts'
import { silentLogger } from '../src/lib/logger.ts'

// Whether a block that comes by newPayload is imported sooner when its senders are recovered on another core: the same blocks
// with it and without, in turns, by the clock. A machine whose cores are busy with other things shows nothing.

/** Milliseconds for each import of all blocks, in the order of the rounds. */
export interface SenderTimes {
  alone: number[]
  shared: number[]
}

export async function compareSenders(
  genesis: unknown,
  blocks: readonly BuiltBlock[],
  adopt: (chain: Chain, block: BuiltBlock) => Promise<void>,
  rounds: number,
): Promise<SenderTimes> {
  const importAll = async (senders: SenderRecovery | undefined): Promise<number> => {
    const datadir = await mkdtemp(join(tmpdir(), 'devium-bench-'))
    await initChain(datadir, genesis)
    const modules = { logger: silentLogger, clock: systemClock, ...(senders === undefined ? {} : { senders }) }
    const chain = await openChain(datadir, modules)
    try {
      const startedAt = performance.now()
      for (const block of blocks) await adopt(chain, block)
      return performance.now() - startedAt
    } finally {
      await chain.close()
      await rm(datadir, { recursive: true, force: true })
    }
  }
  const senders = createSenderRecovery({ clock: systemClock, logger: silentLogger })
  try {
    // What is compiled, and the process that is started, with the first of them is in no round.
    await importAll(senders)
    await importAll(undefined)
    const times: SenderTimes = { alone: [], shared: [] }
    for (let round = 0; round < rounds; round++) {
      times.shared.push(await importAll(senders))
      times.alone.push(await importAll(undefined))
    }
    return times
  } finally {
    await senders.close()
  }
}
