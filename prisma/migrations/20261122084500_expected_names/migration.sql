-- The names that an app's code expects come with each release now, from its repository: nobody pastes them any more.
ALTER TABLE "app" DROP COLUMN "expected_secret_names";
