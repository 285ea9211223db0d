import { z } from 'zod'
import { agree, safeAgree } from '../conditions.ts'
import type { Condition, Scenario } from '../scenario.ts'

const syncStatus = z.object({ safe_l2: z.object({ l1origin: z.object({ number: z.int(), hash: z.string() }) }) })
const l1Block = z.object({ hash: z.string() })

export const l1Reorg: Scenario = {
  about: 'After a reorg of L1 no node keeps a block that was reorged, and the lost batches are posted again.',
  async steps({ run, waitFor, check }) {
    await run('reorg 3')
    await waitFor('all blocks made before are safe', safeAgree)
    await check('safe blocks stem from the L1 of now', stemFromL1)
    await run('reorg 2')
    await waitFor('all nodes agree', agree())
    await waitFor('all blocks made before are safe', safeAgree)
    await check('safe blocks stem from the L1 of now', stemFromL1)
  },
}

const stemFromL1: Condition = async ({ names, request, requestL1 }) => {
  const answers = await Promise.all(names.map((name) => request(name, 'optimism_syncStatus')))
  const origins = answers.map((answer) => syncStatus.parse(answer).safe_l2.l1origin)
  const blocks = await Promise.all(
    origins.map(({ number }) => requestL1('eth_getBlockByNumber', `0x${number.toString(16)}`, false)),
  )
  return blocks.every((block, index) => l1Block.parse(block).hash === origins[index]?.hash)
}
