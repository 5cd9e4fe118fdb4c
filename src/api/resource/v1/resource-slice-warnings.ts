/** What the server warns of in a ResourceSlice. */
import { quote } from '../../../apimachinery/go-text.ts';
import type { ResourceSlice } from '../../gen/resource-v1.ts';
import type { WarningsOf } from '../../warnings.ts';

export const resourceSliceWarnings: WarningsOf<ResourceSlice> = ({ spec: { driver = '' } }) =>
  driver === driver.toLowerCase()
    ? []
    : [`spec.driver: driver names should be lowercase; ${quote(driver)} contains uppercase characters`];
