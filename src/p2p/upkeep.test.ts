import { mkdir, readFile, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { ManualClock } from '../lib/clock.ts'
import { silentLogger } from '../lib/logger.ts'
import { ZERO_SCORES } from './base/api.ts'
import { openAccessListFile } from './peers/accessListStore.ts'
import { createAppScores } from './reputation/appScores.ts'
import { folderInTest } from './testUtils/inTest.ts'
import { createUpkeep } from './upkeep.ts'

const PEER = '16Uiu2HAm7y9oecxCZUMduLgP2vdBRgeUKRkSnYUd7yR2UNrn5YYc'

it('saves bans after a full disk accepts writes again', async () => {
  const path = join(await folderInTest(), 'lists.json')
  const clock = new ManualClock(1_000)
  const saved = Promise.withResolvers<void>()
  const logger = { ...silentLogger, info: () => saved.resolve() }
  const access = await openAccessListFile(path, { logger, clock })
  const nothing = async (): Promise<void> => {}
  const upkeep = createUpkeep(
    {
      clock,
      connected: () => [],
      activeVersion: () => 3,
      access,
      appScores: createAppScores(() => {}),
      router: { setActiveTopic: () => {} },
      scores: { of: () => ZERO_SCORES },
      keeping: { save: nothing },
      histories: { flush: nothing },
      metrics: { observeScores: () => {} },
      events: { emit: () => {} },
    },
    { slotMs: 2_000 },
  )
  upkeep.start()
  await mkdir(`${path}.tmp`)
  access.lists.banPeer(PEER, { expiryMs: 3_600_000, reason: 'test' })
  await expect(access.save()).rejects.toMatchObject({ code: 'EISDIR' })
  await rm(`${path}.tmp`, { recursive: true })

  await clock.advance(16_000)
  await saved.promise
  expect(await readFile(path, 'utf8')).toContain(PEER)
  upkeep.stop()
})
