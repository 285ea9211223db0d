// For what runs in a clone; imported alone, since TypeScript knows no types of plain JavaScript.
import { requireScripts } from './installedNode.mjs'

requireScripts()
